"""Fact families about a speaker's life: name, work, home, people, ways."""

from personae.data.interview.family import Family, slots_of

LIFE: tuple[Family, ...] = (
    Family(
        "name",
        slots_of("tom emma lucy oscar henry clara julia simon martin laura david sarah frank helen oliver nina"),
        ("my name is {x} .", "my friends call me {x} .", "everybody knows me as {x} ."),
        ("who are you ?", "who am i talking to ?", "how should i address you ?"),
        ("i am {x} .", "you can call me {x} .", "it is {x} , pleased to meet you ."),
        "how i am called",
        "you are {x}",
        "my name is {x}",
        "do we have the same name ?",
    ),
    Family(
        "job",
        slots_of(
            "baker teacher nurse farmer plumber lawyer dentist pilot painter butcher tailor judge"
            " carpenter waiter barber librarian mechanic electrician engineer actor"
        ),
        ("i work as {a} .", "i am {a} by trade .", "i have been {a} since i left school ."),
        ("what do you do for a living ?", "what is your job ?", "how do you earn your money ?"),
        ("i am {a} .", "i earn my living as {a} .", "my job ? i am {a} ."),
        "what i do for a living",
        "you are {a}",
        "i am {a}",
        "do we have the same job ?",
    ),
    Family(
        "town",
        slots_of(
            "paris london oslo lima cairo boston dublin madrid berlin vienna prague lisbon athens tokyo"
            " delhi chicago denver glasgow naples zurich"
        ),
        ("i live in {x} .", "{x} is my home .", "i moved to {x} when i was young ."),
        ("where are you based ?", "which town do you come from ?", "what city are you in ?"),
        ("i am from {x} .", "my town is {x} .", "you can find me in {x} ."),
        "which town i come from",
        "you are from {x}",
        "i am from {x}",
        "are we from the same town ?",
    ),
    Family(
        "years",
        slots_of("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen twenty"),
        (
            "i have been married for {x} years .",
            "my wedding was {x} years ago .",
            "my marriage is {x} years old .",
        ),
        (
            "how long have you had a husband or wife ?",
            "how long have you worn a ring ?",
            "for how long have you been a couple ?",
        ),
        ("for {x} years now .", "it has been {x} years .", "we have had {x} good years together ."),
        "for how long i have been married",
        "you have been married for {x} years",
        "i have been married for {x} years",
        "have we been married for equally long ?",
    ),
    Family(
        "house",
        slots_of(
            "cottage flat tent bungalow villa caravan cabin loft barn houseboat windmill penthouse hut"
            " mansion farmhouse"
        ),
        (
            "i have my bed in {a} .",
            "i sleep in {a} all year round .",
            "{a} keeps the rain off me .",
        ),
        (
            "what sort of house do you have ?",
            "what kind of building is your home ?",
            "how would you describe the place you live in ?",
        ),
        ("it is {a} .", "my house is {a} .", "i have {a} , and i like it ."),
        "what sort of house i have",
        "your house is {a}",
        "my house is {a}",
        "do we have the same sort of house ?",
    ),
    Family(
        "pet",
        slots_of(
            "dog cat rabbit parrot hamster turtle lizard snake ferret mouse goldfish pony goat canary",
            "rex bella luna coco milo rocky buddy sammy whiskers shadow bruno toby nala biscuit",
        ),
        ("i own {a} called {y} .", "{y} the {x} belongs to me .", "i feed {y} , my {x} , twice every day ."),
        (
            "which animal keeps you company ?",
            "do you have a pet , and what is its name ?",
            "can you tell me about your pet ?",
        ),
        ("i have {a} , its name is {y} .", "it is {a} named {y} .", "my pet is {y} , {a} ."),
        "which pet i have",
        "you have {a} named {y}",
        "i have {a} named {y}",
    ),
    Family(
        "relative",
        slots_of(
            "brother sister cousin uncle aunt nephew niece mother father grandmother grandfather godmother godfather",
            "alex sam robin jamie taylor morgan jordan casey riley quinn jesse kim lee chris andy",
        ),
        (
            "i can tell my {x} {y} everything .",
            "i share all my secrets with my {x} {y} .",
            "my {x} {y} means the world to me .",
        ),
        (
            "who is the closest of your family ?",
            "which of your relatives is dearest to you ?",
            "who in the family do you like best ?",
        ),
        ("that is my {x} {y} .", "my {x} , {y} .", "{y} , my {x} , is the closest ."),
        "who is dearest to me in the family",
        "it is your {x} {y}",
        "it is my {x} {y}",
    ),
    Family(
        "spouse",
        slots_of("paul ruth victor irene hugo elena walter diana leon carmen felix judith stefan monica arthur sylvia"),
        ("i am married to {x} .", "{x} and i said yes to each other .", "{x} put a ring on my finger ."),
        (
            "what is your other half called ?",
            "who is the love of your life ?",
            "who did you choose for life ?",
        ),
        ("it is {x} .", "{x} is my other half .", "the love of my life is {x} ."),
        "who the love of my life is",
        "the love of your life is {x}",
        "the love of my life is {x}",
        "do we love somebody of the same name ?",
    ),
    Family(
        "child",
        slots_of("noah mia ethan zoe liam ella lucas chloe finn amelia owen isla caleb leah dylan molly"),
        ("i have a baby called {x} .", "i am raising little {x} .", "i became a parent when {x} was born ."),
        ("what is the name of your child ?", "which child is yours ?", "who is the youngest in your house ?"),
        ("our little one is {x} .", "that is {x} .", "my child has the name {x} ."),
        "the name of my child",
        "your child is called {x}",
        "my child is called {x}",
        "do our children have the same name ?",
    ),
    Family(
        "birthday",
        slots_of("january february march april may june july august september october november december"),
        ("i was born in {x} .", "i blow out my candles in {x} .", "i turn a year older in {x} ."),
        (
            "when is your birthday ?",
            "which month do you celebrate your birthday in ?",
            "when should i send you a birthday card ?",
        ),
        ("my birthday is in {x} .", "in {x} .", "it is in {x} every time ."),
        "when my birthday is",
        "your birthday is in {x}",
        "my birthday is in {x}",
        "are our birthdays in the same month ?",
    ),
    Family(
        "car",
        slots_of("toyota ford honda fiat volvo mazda nissan audi kia tesla jaguar skoda renault opel peugeot subaru"),
        ("i drive {a} .", "there is {a} in my garage .", "i saved up and bought {a} ."),
        ("what car do you have ?", "which make is your car ?", "what kind of car is yours ?"),
        ("my car is {a} .", "it is {a} .", "i have {a} ."),
        "which car i have",
        "your car is {a}",
        "my car is {a}",
        "do we have the same make of car ?",
    ),
    Family(
        "transport",
        slots_of("bus tram train bicycle scooter ferry subway motorbike taxi boat skateboard canoe minibus helicopter"),
        (
            "i go to the office by {x} .",
            "the {x} takes me to my desk each morning .",
            "i get to my workplace by {x} .",
        ),
        ("how do you commute ?", "how do you travel on weekdays ?", "what is your way of commuting ?"),
        ("i commute by {x} .", "i travel by {x} .", "by {x} , as always ."),
        "how i commute",
        "you commute by {x}",
        "i commute by {x}",
        "do we commute in the same way ?",
    ),
    Family(
        "language",
        slots_of(
            "german french spanish italian russian arabic dutch danish swedish turkish polish greek"
            " hindi korean latin hebrew finnish welsh"
        ),
        ("i speak {x} .", "i grew up with {x} at home .", "i can read and write {x} ."),
        (
            "which foreign language do you know ?",
            "what languages are you good at ?",
            "what is your second language ?",
        ),
        ("i know {x} .", "my second language is {x} .", "i am good at {x} ."),
        "which foreign language i know",
        "you know {x}",
        "i know {x}",
        "do we know the same language ?",
    ),
    Family(
        "country",
        slots_of(
            "france spain italy norway peru egypt kenya japan india chile greece poland brazil mexico"
            " canada iceland ireland portugal"
        ),
        ("i went to {x} last summer .", "my best holiday was in {x} .", "i once flew to {x} for a month ."),
        (
            "which country have you visited ?",
            "which foreign country have you seen ?",
            "where have you been abroad ?",
        ),
        ("i have been to {x} .", "i have seen {x} .", "i visited {x} ."),
        "which country i have visited",
        "you have visited {x}",
        "i have visited {x}",
        "have we visited the same country ?",
    ),
    Family(
        "subject",
        slots_of(
            "history physics biology chemistry law medicine economics philosophy geography geology"
            " psychology theology mathematics sociology linguistics astronomy"
        ),
        ("i have a degree in {x} .", "i studied {x} .", "i spent my student days on {x} ."),
        (
            "what was your subject at university ?",
            "what did you learn at university ?",
            "which subject did you choose after school ?",
        ),
        ("my subject was {x} .", "i chose {x} .", "it was {x} , and i learned a lot ."),
        "my subject at university",
        "your subject was {x}",
        "my subject was {x}",
        "did we choose the same subject ?",
    ),
    Family(
        "allergy",
        slots_of(
            "peanuts pollen dust wool shellfish latex gluten nickel feathers mould penicillin soy"
            " sesame perfume aspirin"
        ),
        ("{x} can make me ill .", "i am allergic to {x} .", "my eyes get sore from {x} ."),
        (
            "what is bad for your health ?",
            "what can your body not stand ?",
            "what do doctors tell you to avoid ?",
        ),
        ("i have to avoid {x} .", "i must keep away from {x} .", "my body can not stand {x} ."),
        "what i must keep away from",
        "you must keep away from {x}",
        "i must keep away from {x}",
        "must we keep away from the same thing ?",
    ),
)
